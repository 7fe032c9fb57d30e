"""Results on disk: blocks that check themselves, one folder a study or sweep."""
