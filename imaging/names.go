package imaging

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
)

// maxName bounds the name of an entry in a receipt, in bytes.
const maxName = 1024

// displayable is a name that somebody sent, fit to be shown: UTF-8, or what the bytes mean in code page 437,
// the ZIP format's own (APPNOTE 4.4.17, appendix D); control characters, which a terminal would obey, stand as
// U+FFFD; at most [maxName] bytes. Everything else stays as it is. It is never used as a path.
func displayable(name string) string {
	if !utf8.ValidString(name) {
		name = decode437(name)
	}
	return cut(withoutControls(name), maxName)
}

// withoutControls puts U+FFFD in the place of each control character.
func withoutControls(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return utf8.RuneError
		}
		return r
	}, text)
}

func decode437(name string) string {
	decoded, err := charmap.CodePage437.NewDecoder().String(name)
	if err != nil {
		return strings.ToValidUTF8(name, string(utf8.RuneError))
	}
	return decoded
}

// cut shortens text to at most n bytes, at the boundary of a character, and shows that it did.
func cut(text string, n int) string {
	const more = "…"
	if len(text) <= n {
		return text
	}
	n -= len(more)
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n] + more
}
