#!/bin/sh
# Starts a throw-away PostgreSQL server for the tests and prints its DSN:
#
#	dsn=$(sh backends/fencedsql/postgres.sh start) && FENCEDSQL_POSTGRES=$dsn go test ./...
#	sh backends/fencedsql/postgres.sh stop
#
# The server listens on loopback alone, on a port of its own, and keeps its data
# in a directory of its own that "stop" removes. Where Debian's package is
# missing and the caller is root, "start" installs it. FENCEDSQL_DIR names
# another directory, so that several servers can run beside each other.
set -eu

dir=${FENCEDSQL_DIR:-${TMPDIR:-/tmp}/fencedsql-postgres-$(id -u)}

die() {
	echo "postgres.sh: $*" >&2
	exit 1
}

# bin prints the directory of the newest server installed, if any.
bin() {
	for b in $(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -t/ -k5 -rn); do
		if [ -x "$b/initdb" ]; then
			echo "$b"
			return
		fi
	done
	if command -v initdb >/dev/null 2>&1 && command -v pg_ctl >/dev/null 2>&1; then
		dirname "$(command -v pg_ctl)"
	fi
}

# as runs a command as the owner of the server, which must not be root.
as() {
	if [ "$(id -u)" = 0 ]; then
		(cd / && setpriv --reuid postgres --regid postgres --clear-groups "$@")
	else
		"$@"
	fi
}

install() {
	[ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1 ||
		die "no PostgreSQL server is installed; install one, or set FENCEDSQL_POSTGRES to the DSN of another"
	{
		# Debian's package would else start a server of its own.
		mkdir -p /etc/postgresql-common/createcluster.d
		echo "create_main_cluster = false" >/etc/postgresql-common/createcluster.d/fencedsql.conf
		DEBIAN_FRONTEND=noninteractive apt-get update -qq
		DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends postgresql
	} >&2
}

start() {
	[ ! -e "$dir" ] || stop
	server=$(bin)
	if [ -z "$server" ]; then
		install
		server=$(bin)
		[ -n "$server" ] || die "the package brought no server"
	fi
	mkdir -m 700 -p "$dir"
	[ "$(id -u)" != 0 ] || chown postgres "$dir"
	as "$server/initdb" --no-sync -D "$dir/data" -U fenced -A trust -E UTF8 --locale=C >"$dir/initdb.log" 2>&1 ||
		{ cat "$dir/initdb.log" >&2; die "initdb failed"; }
	echo "$server" >"$dir/bin"
	# Another program may have the port: try some.
	for try in 1 2 3 4 5 6 7 8 9 10; do
		p=$((20000 + ($$ * 7 + $(date +%s) + try * 997) % 20000))
		if as "$server/pg_ctl" -D "$dir/data" -l "$dir/data/server.log" -w -t 30 \
			-o "-c listen_addresses=127.0.0.1 -p $p -k $dir -c max_connections=200" start >"$dir/pg_ctl.log" 2>&1; then
			echo "postgres://fenced@127.0.0.1:$p/postgres?sslmode=disable"
			return
		fi
	done
	cat "$dir/pg_ctl.log" "$dir/data/server.log" >&2
	stop
	die "the server did not start"
}

stop() {
	[ -e "$dir" ] || return 0
	# Only what start left there is removed.
	[ -d "$dir/data" ] || die "$dir is not ours"
	if [ -f "$dir/bin" ] && [ -f "$dir/data/postmaster.pid" ]; then
		as "$(cat "$dir/bin")/pg_ctl" -D "$dir/data" -m immediate -w stop >/dev/null 2>&1 || true
	fi
	rm -rf "$dir"
}

case ${1:-} in
start) start ;;
stop) stop ;;
*) die "usage: postgres.sh start | stop" ;;
esac
