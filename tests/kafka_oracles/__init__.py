"""Other people's readers and writers of Kafka's messages, to hold ours against. Each is a module with

NAME                how it is called
ABSENT_IS_DEFAULT   whether a tagged struct that is absent reads as one of nothing but defaults, or as None
UNCOMPARED          fields whose values it turns into something else; their bytes are compared all the same
covers              whether it knows a message in a version
narrow              which values it can hold, where it cannot hold all
read                bytes to plain values
rewritten           bytes to the bytes that it writes for what it read
"""
