"""The commands: read the files, call one function, print."""
