# Before a package goes, and not when another version follows: captures and flows end in order, and no link to a unit stays. What
# systemd refuses does not keep the package.
case $1 in
    # The words of Debian and of RPM.
    remove | 0)
        if [ -d /run/systemd/system ]; then
            systemctl stop 'tapline-capture@*.service' 'tapline-capture@*.socket' 'tapline-flows@*.service' || true
        fi
        if command -v systemctl >/dev/null; then
            systemctl --quiet disable tapline-capture@.service tapline-capture@.socket tapline-flows@.service || true
        fi
        ;;
esac
