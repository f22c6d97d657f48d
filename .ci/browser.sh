# Sourced by .ci/run: Chromium and its driver from Debian's packages, for the tests of pages.

install_browser() {
  if command -v chromium >/dev/null && command -v chromedriver >/dev/null; then return 0; fi
  if [[ "$(id -u)" == 0 ]] && command -v apt-get >/dev/null; then
    apt-get update -qq || true
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium chromium-driver >/dev/null && return 0
  fi
  echo "no Chromium and no way to install it: its tests are skipped" >&2
}
