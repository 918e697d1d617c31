"""Operations of all ranks of a communicator, of objects and of buffers, blocking and nonblocking."""
