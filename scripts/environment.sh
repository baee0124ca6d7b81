# Sourced by the scripts beside it: the virtual environment .venv, set up once and again only when
# pyproject.toml, constraints.txt or tested.txt changed. Everything said here goes to stderr: stdout belongs to the command.

root=$(cd -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/.." && pwd -P)
venv=$root/.venv

say() { printf '%s\n' "$*" >&2; }

# prepare LEVEL: makes sure that .venv holds what LEVEL needs, by calling the function install_LEVEL.
prepare() {
  local level=$1 stamp=$venv/.installed-$1 wanted
  # The root is part of the stamp because an editable install points at it: a clone may be moved.
  wanted=$({ printf '%s\n' "$root"; cat "$root/pyproject.toml" "$root/constraints.txt" "$root/tested.txt"; } | cksum)
  ready() { [ -x "$venv/bin/python" ] && [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$wanted" ]; }
  ready && return

  # One at a time. The lock belongs to descriptor 9, so it ends with this process, however it ends.
  exec 9<"$root/pyproject.toml"
  "${PYTHON:-python3}" -c 'import fcntl; fcntl.flock(9, fcntl.LOCK_EX)'
  if ! ready; then
    say "setting up $venv (once) …"
    create_venv
    touch "$venv/.unfinished"
    # pip cleans up when it fails; only a set-up that was killed leaves the mark, and .venv is then made anew.
    if ! "install_$level"; then
      rm -f "$venv/.unfinished"
      say "could not set up $venv: see pip's message above, then run this again"
      exit 1
    fi
    printf '%s\n' "$wanted" >"$stamp"
    rm -f "$venv/.unfinished"
  fi
  exec 9<&-
}

create_venv() {
  local python=${PYTHON:-python3}
  "$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' || {
    say "Pocketbert needs Python 3.10 or newer, but $python is $("$python" --version 2>&1); set PYTHON to another one"
    exit 1
  }
  if [ ! -e "$venv/.unfinished" ] && "$venv/bin/python" -m pip --version >/dev/null 2>&1; then return; fi
  rm -rf "$venv"
  # Debian keeps the pip that venv would copy in a package of its own; the system's pip does as well.
  "$python" -m venv "$venv" >/dev/null 2>&1 ||
    { "$python" -m venv --clear --without-pip "$venv" &&
      "$python" -m pip --python "$venv/bin/python" install --quiet --disable-pip-version-check pip >&2; } ||
    { say "could not create $venv: install Python's venv or pip (Debian, Ubuntu: apt-get install python3-venv)"; exit 1; }
}

# Not the script `pip`: its first line breaks when the clone is moved. And packages that are built, such as seqeval, are built apart:
# an older pip would do it in .venv, where the setuptools that torch brings does not find all it needs.
pip_install() {
  "$venv/bin/python" -m pip install --use-pep517 --quiet --disable-pip-version-check \
    -c "$root/constraints.txt" -c "$root/tested.txt" "$@" >&2
}

install_run() { pip_install -e "$root"; }
