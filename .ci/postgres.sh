# Sourced by .ci/run: a PostgreSQL server of its own in a temporary folder, for the tests of exported SQL.
# Exports OPDT_POSTGRES, or says why there is none; the tests that need it are then skipped.

postgres_folder=""

as_postgres() {  # the server refuses to run as root
  if [[ "$(id -u)" == 0 ]]; then runuser -u postgres -- "$@"; else "$@"; fi
}

find_postgres() {  # the newest installed server, in Debian's place or on the PATH
  local found
  found="$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1)"
  if [[ -z "$found" ]] && command -v initdb >/dev/null; then
    found="$(dirname "$(command -v initdb)")"
  fi
  [[ -n "$found" ]] && echo "$found"
}

install_postgres() {
  [[ "$(id -u)" == 0 ]] && command -v apt-get >/dev/null || return 1
  # The server of the tests is made below; the one that the package would start is not wanted.
  mkdir -p /etc/postgresql-common
  [[ -e /etc/postgresql-common/createcluster.conf ]] ||
    echo "create_main_cluster = false" >/etc/postgresql-common/createcluster.conf
  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq postgresql >/dev/null
}

start_postgres() {
  [[ -n "${OPDT_POSTGRES:-}" ]] && return 0
  local bin
  bin="$(find_postgres)" || { install_postgres && bin="$(find_postgres)"; } || {
    echo "no PostgreSQL and no way to install it: its tests are skipped" >&2
    return 0
  }
  postgres_folder="$(mktemp -d)"
  chmod 755 "$postgres_folder"
  [[ "$(id -u)" != 0 ]] || chown postgres "$postgres_folder"
  # A socket in the folder instead of a port: nothing can be in the way, and nobody else gets in.
  if (cd "$postgres_folder" &&
    as_postgres "$bin/initdb" -D "$postgres_folder/data" -U opdt -A trust -E UTF8 --locale=C -N &&
    as_postgres "$bin/pg_ctl" -D "$postgres_folder/data" -l "$postgres_folder/log" -w \
      -o "-c listen_addresses='' -c fsync=off -k $postgres_folder" start) \
    >"$postgres_folder/start" 2>&1; then
    export OPDT_POSTGRES="host=$postgres_folder user=opdt dbname=postgres"
    echo "PostgreSQL: $("$bin/postgres" --version)"
  else
    cat "$postgres_folder/start" "$postgres_folder/log" >&2 2>/dev/null || true
    echo "PostgreSQL does not start: its tests are skipped" >&2
  fi
}

stop_postgres() {
  [[ -n "$postgres_folder" ]] || return 0
  if [[ -e "$postgres_folder/data/postmaster.pid" ]]; then
    as_postgres "$(find_postgres)/pg_ctl" -D "$postgres_folder/data" -m immediate stop >/dev/null || true
  fi
  rm -rf "$postgres_folder"
}
