"""Built-in skeletons: message-passing applications by name and arguments."""
