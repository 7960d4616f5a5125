"""The mappings of public data sets, a TOML file each."""
