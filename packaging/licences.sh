#!/usr/bin/env bash
# Writes the licences of the code of others that is linked into the program and the libraries: licences.sh FILE TARGET FLAGS...
#
# FLAGS of `cargo tree` choose the packages. The texts are those in the sources of each package, also of code that it bundles, and those of
# the standard library of Rust; for a target with musl, also that of musl. Texts that differ only in white space are written once. The
# same sources make the same file. Ends with an error if a package has no text.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
file=$1 target=$2
shift 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work"/{texts,names,std}
export LC_ALL=C

# add NAME: adds the text on standard input, of the package NAME.
add() {
    local key
    # Without blank lines at its beginning and its end.
    sed 's/[[:space:]]*$//' | sed '/./,$!d' | sed -e :a -e '/^\n*$/{$d;N;ba' -e '}' >"$work/text"
    key=$(tr -s '[:space:]' ' ' <"$work/text" | sha256sum | cut -d' ' -f1)
    [ -e "$work/texts/$key" ] || mv "$work/text" "$work/texts/$key"
    echo "$1" >>"$work/names/$key"
}

# add_sources NAME FOLDER: adds the texts in the sources of a package. Of the two licences of zstd, COPYING is the one that is not chosen.
add_sources() {
    local name=$1 folder=$2 path found=1
    while read -r path; do
        case $path in
            */*) add "$name, $path" <"$folder/$path" ;;
            *) add "$name" <"$folder/$path" ;;
        esac
        found=0
    done < <(find "$folder" -path "$folder/.*" -prune -o -path "$folder/zstd/COPYING" -prune -o -type f \
        ! -name '*.rs' ! -name '*.toml' ! -name '*.yml' \( -iname 'licen[cs]e*' -o -iname 'unlicen[cs]e*' -o -iname 'copying*' \
        -o -iname 'copyright*' -o -iname 'notice*' \) -printf '%P\n' | sort)
    return "$found"
}

# add_elsewhere NAME LICENCES: adds a package without a text to the text of one of its licences that others have. Only the Apache licence
# names nobody.
add_elsewhere() {
    local name=$1 licence key most_names=0 most=
    while read -r licence; do
        case $licence in
            Apache-2.0) words=without ;;
            'Apache-2.0 WITH LLVM-exception') words=with ;;
            *) continue ;;
        esac
        for key in "$work"/texts/*; do
            grep --quiet 'Version 2.0, January 2004' "$key" || continue
            case $words:$(grep --quiet 'LLVM Exceptions' "$key" && echo with || echo without) in
                with:with | without:without) ;;
                *) continue ;;
            esac
            names=$(wc -l <"$work/names/$(basename "$key")")
            [ "$names" -le "$most_names" ] || { most_names=$names most=$(basename "$key"); }
        done
    done < <(sed 's| OR |\n|g; s|/|\n|g' <<<"$2")
    [ -n "$most" ] && echo "$name" >>"$work/names/$most"
}

cd "$here"
cargo metadata --locked --format-version 1 |
    jq -r '.packages[] | select(.source) | "\(.name) \(.version)\t\(.license)\t\(.manifest_path)"' | sort >"$work/packages"
# A package is a line "name version".
cargo tree --locked --quiet --edges normal --target "$target" --prefix none --format '{p}' "$@" | awk '{ print $1, substr($2, 2) }' |
    sort -u | join -t $'\t' - "$work/packages" >"$work/linked"
[ "$(wc -l <"$work/linked")" -gt 10 ] || { echo "licences.sh: cargo tree names no packages" >&2; exit 1; }
while IFS=$'\t' read -r package licence manifest; do
    add_sources "$package ($licence)" "$(dirname "$manifest")" || echo "$package	$licence" >>"$work/without"
done <"$work/linked"

# The standard library: what its page says of Rust's own files, and the texts of its dependencies.
rust=$(rustc --print sysroot)/share/doc/rust
page=$rust/COPYRIGHT-library.html
[ -e "$page" ] || { echo "licences.sh: $page is missing (use a toolchain of rustup)" >&2; exit 1; }
unescaped='s/&#34;/"/g; s/&#39;/'\''/g; s/&#60;/</g; s/&#62;/>/g; s/&amp;/\&/g'
sed -n '/id="in-tree-files"/,/id="out-of-tree-dependencies"/p' "$page" | sed '$d' >"$work/own"
sed "s/<[^>]*>//g; s/^ *//; $unescaped" "$work/own" | sed '/./!d' | add "the standard library of Rust"
sed -n 's|.*<b>License:</b> \(.*\)</p>|\1|p' "$work/own" | tr -d '()' | sed 's/ \(OR\|AND\|WITH\) /\n/g' | sort -u | while read -r licence; do
    [ ! -e "$rust/licenses/$licence.txt" ] || add "the standard library of Rust ($licence)" <"$rust/licenses/$licence.txt"
done
awk -v folder="$work/std" '
    /<h3>/ { gsub(/<[^>]*>/, ""); sub(/^[^A-Za-z]*/, ""); if (match($0, /-[0-9]+[.]/)) name = substr($0, 1, RSTART - 1) " " substr($0, RSTART + 1) }
    /<b>License:<\/b>/ { gsub(/<[^>]*>|License:/, ""); gsub(/^ +| +$/, ""); licence = $0 }
    /<\/pre>/ { is_text = 0 }
    is_text { print > text }
    /<pre>/ && name { is_text = 1; text = sprintf("%s/%04d", folder, ++number); print name " (" licence "), in the standard library of Rust" > text }
' "$page"
for text in "$work"/std/*; do
    sed "1d; $unescaped" "$text" | add "$(head -1 "$text")"
done

case $target in
    *-musl)
        # Of Debian's package musl, whose version may be older than that of the toolchain. Its licence is the same.
        add "musl (MIT)" </usr/share/doc/musl/copyright ;;
esac

# Behind all others, so that their texts are there.
if [ -e "$work/without" ]; then
    while IFS=$'\t' read -r package licence; do
        add_elsewhere "$package ($licence)" "$licence" || { echo "licences.sh: $package ($licence) has no text" >&2; exit 1; }
    done <"$work/without"
fi

for key in "$work"/names/*; do
    sort -u -o "$key" "$key"
    printf '%s\t%s\n' "$(head -1 "$key")" "$(basename "$key")"
done | sort | cut -f2 >"$work/order"
install -d "$(dirname "$file")"
{
    echo "tapline and its libraries contain code of the following packages, under the licences that follow their names."
    while read -r key; do
        printf '\n%s\n' "==============================================================================="
        cat "$work/names/$key"
        printf '%s\n\n' "-------------------------------------------------------------------------------"
        cat "$work/texts/$key"
    done <"$work/order"
} >"$file"
echo "$file: $(wc -l <"$work/linked") packages, $(wc -l <"$work/order") texts, $(stat --format=%s "$file") bytes"
