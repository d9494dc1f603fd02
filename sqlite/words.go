package sqlite

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// beyond is greater than every word that has the prefix: no text sorts behind U+10FFFF.
func beyond(prefix string) string { return prefix + "\U0010FFFF" }

// haveWords reports whether each of words is the beginning of one of a text's words, as [tasks.Words]
// cuts it.
func haveWords(text string, words []string) bool {
	if len(words) == 0 {
		return true
	}
	text = strings.ToLower(text)
	return !slices.ContainsFunc(words, func(w string) bool { return !hasWord(text, w) })
}

func hasWord(text, beginning string) bool {
	for from := 0; ; {
		i := strings.Index(text[from:], beginning)
		if i < 0 {
			return false
		}
		before, _ := utf8.DecodeLastRuneInString(text[:from+i])
		if from+i == 0 || !unicode.IsLetter(before) && !unicode.IsDigit(before) {
			return true
		}
		from += i + 1
	}
}
