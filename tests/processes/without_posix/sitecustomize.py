"""An interpreter without what only POSIX systems have, as far as the standard library itself can do without it here (NumPy asks Linux for its ``uname``).

Python imports this by its name at its start, also in processes that are spawned, where its folder is in PYTHONPATH.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from types import ModuleType

MODULES = {"crypt", "fcntl", "grp", "nis", "pty", "pwd", "readline", "resource", "spwd", "syslog", "termios", "tty"}
OF_OS = {
    *("O_CLOEXEC", "O_DIRECTORY", "O_NOFOLLOW", "O_NONBLOCK", "O_ASYNC", "chown", "chroot", "fchmod", "fchown", "fork"),
    *("forkpty", "getegid", "geteuid", "getgid", "getgroups", "getloadavg", "getpgid", "getsid", "getuid", "killpg"),
    *("memfd_create", "mkfifo", "mknod", "nice", "openpty", "posix_spawn", "pread", "preadv", "pwrite", "pwritev"),
    *("register_at_fork", "sched_getaffinity", "sched_setaffinity", "sched_yield", "sendfile", "setsid", "statvfs"),
    *("sync", "sysconf", "sysconf_names", "wait3", "wait4"),
}
OF_SIGNAL = {"SIGHUP", "SIGIO", "SIGKILL", "SIGUSR1", "SIGUSR2", "SIGALRM", "alarm", "pthread_sigmask", "setitimer"}


class Hidden(MetaPathFinder):
    """Finds none of these modules, and lets nobody else find them."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> None:
        if name in MODULES:
            raise ModuleNotFoundError(f"No module named {name!r} (hidden)", name=name)


sys.meta_path.insert(0, Hidden())
for module in MODULES:
    sys.modules.pop(module, None)
for holder, names in ((os, OF_OS), (signal, OF_SIGNAL)):
    for hidden in names:
        if hasattr(holder, hidden):
            delattr(holder, hidden)
