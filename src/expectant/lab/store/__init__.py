"""Results on disk: blocks with checksums, one folder a study or sweep."""
