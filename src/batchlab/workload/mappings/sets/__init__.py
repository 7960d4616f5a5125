"""The mappings of public data sets, one TOML file each."""
