"""Write a grid and options: plan with the way to a door, given or learned."""

import expectant as ex

ROOMS = ex.domains.Rooms(  # walls, a start, pits, a goal, and a door with a name
    """
    ###########
    #S..#.....#
    #.P.#.....#
    #.P.D....G#
    #...#.....#
    ###########
    """
)
DOOR = ROOMS.named_states["D"]
RIGHT = 1

# to the right until the door, through pits: an action and a stopping probability per state
straight = ex.options.TableOption(
    policy=[RIGHT] * ROOMS.states,
    stop=[1.0 if state == DOOR else 0.0 for state in range(ROOMS.states)],
)
# to the door around the pits, learned by the agent
careful = ex.options.RewardRespecting(feature=DOOR, bonus=1.0, step=0.2, policy_step=0.2)

OPTION_SETS = {
    "actions only": None,
    "straight on": ex.options.OptionSet((straight,)),
    "around the pits, learned": ex.options.OptionSet((careful,), step=0.2, acting="committed"),
}

if __name__ == "__main__":
    for name, options in OPTION_SETS.items():
        agent = ex.Lookahead(discount=0.97, options=options)
        result = ex.run(ROOMS, ex.OneHot(), agent, episodes=60, runs=10, step_limit=500)
        print(f"{name:26} return {result.returns.mean():6.2f}, {result.lengths.mean():5.1f} steps")
