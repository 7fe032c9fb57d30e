"""Parts of one's own on trial: what every verb promises, and mistakes in one sentence."""
