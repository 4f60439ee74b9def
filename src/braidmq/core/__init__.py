"""What a message queue means, written once, above the log and the store and below every protocol."""
