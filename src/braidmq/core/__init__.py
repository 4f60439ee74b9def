"""What a message queue means, written once: publish, pull, cursors, timers and the rest arrive here, above the log and the store."""
