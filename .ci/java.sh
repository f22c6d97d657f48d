# Sourced by .ci/run: a Java runtime without a screen from Debian's packages, for the tests of Spark.

install_java() {
  if command -v java >/dev/null; then return 0; fi
  if [[ "$(id -u)" == 0 ]] && command -v apt-get >/dev/null; then
    apt-get update -qq || true
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq default-jre-headless >/dev/null && return 0
  fi
  echo "no Java and no way to install it: the tests of Spark are skipped" >&2
}
