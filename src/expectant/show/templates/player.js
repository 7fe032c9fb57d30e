// The player of an animation.
for (const { frames, durations, captions, changes } of sectionsOf("animation")) {
  const [picture, play, slider, speed, caption] =
    ["picture", "play", "slider", "speed", "caption"].map(byId);
  let now = 0;
  let timer = null;

  function show(number) {
    now = Math.max(0, Math.min(frames.length - 1, number));
    picture.src = "data:image/png;base64," + frames[now];
    picture.alt = captions[now];
    slider.value = now;
    slider.setAttribute("aria-valuetext", captions[now]);
    caption.textContent = captions[now];
  }

  function stop() {
    clearTimeout(timer);
    timer = null;
    play.textContent = "▶ play";
  }

  function next() {
    timer = setTimeout(() => {
      if (now + 1 >= frames.length) return stop();
      show(now + 1);
      next();
    }, durations[now] / Number(speed.value));
  }

  function start() {
    if (now + 1 >= frames.length) show(0);
    play.textContent = "❚❚ pause";
    next();
  }

  function toggle() {
    if (timer === null) start();
    else stop();
  }

  function jump(number) {
    stop();
    show(number);
  }

  play.addEventListener("click", toggle);
  slider.addEventListener("input", () => jump(Number(slider.value)));
  for (const button of document.querySelectorAll("[data-change]")) {
    button.addEventListener("click", () => jump(changes[Number(button.dataset.change)]));
  }
  document.addEventListener("keydown", (event) => {
    if (event.target.closest("button, select, input")) return;
    if (event.key === " ") toggle();
    else if (event.key === "ArrowRight") jump(now + 1);
    else if (event.key === "ArrowLeft") jump(now - 1);
    else return;
    event.preventDefault();
  });
  show(0);
}
