package views

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// The tests of this file read every page and fragment of the gallery as a browser would.

func parse(t *testing.T, page string) *html.Node {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// elements are all elements below n, in order; those in templates too.
func elements(n *html.Node) []*html.Node {
	var all []*html.Node
	for d := range n.Descendants() {
		if d.Type == html.ElementNode {
			all = append(all, d)
		}
	}
	return all
}

func attr(n *html.Node, key string) (string, bool) {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val, true
		}
	}
	return "", false
}

func text(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return b.String()
}

// eachPage runs a check on every page and fragment.
func eachPage(t *testing.T, check func(t *testing.T, doc *html.Node)) {
	t.Helper()
	t.Parallel()
	all := maps.Clone(gallery())
	for name, fragment := range fragments() {
		all["fragment-"+name] = fragment
	}
	for name, page := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, parse(t, render(t, page)))
		})
	}
}

func TestNothingThatWasTypedBecomesMarkup(t *testing.T) {
	eachPage(t, func(t *testing.T, doc *html.Node) {
		for _, n := range elements(doc) {
			if n.Data == "script" {
				if nonce, _ := attr(n, "nonce"); nonce != "n0nce" {
					t.Errorf("a script without the page's nonce: %s", text(n))
				}
			}
			if src, _ := attr(n, "src"); src == "x" {
				t.Errorf("<%s> made of somebody's text", n.Data)
			}
		}
	})
}

// The policy is script-src 'nonce-...' 'strict-dynamic'; style-src 'self'. A browser ignores what breaks it
// without a word, so it must not be there.
func TestNothingBreaksTheContentSecurityPolicy(t *testing.T) {
	eachPage(t, func(t *testing.T, doc *html.Node) {
		for _, n := range elements(doc) {
			for _, a := range n.Attr {
				if a.Key == "style" || strings.HasPrefix(a.Key, "on") || strings.HasPrefix(a.Key, "hx-on") || strings.HasPrefix(a.Val, "js:") || strings.HasPrefix(a.Val, "javascript:") {
					t.Errorf("<%s %s=%q>", n.Data, a.Key, a.Val)
				}
			}
			if n.Data == "style" {
				t.Error("an inline style element")
			}
		}
	})
}

func TestIDsAreUnique(t *testing.T) {
	eachPage(t, func(t *testing.T, doc *html.Node) {
		seen := map[string]bool{}
		for _, n := range elements(doc) {
			if id, ok := attr(n, "id"); ok {
				if seen[id] || id == "" {
					t.Errorf("id %q stands twice or is empty", id)
				}
				seen[id] = true
			}
		}
	})
}

func TestWhatIsReferredToIsThere(t *testing.T) {
	t.Parallel()
	for name, page := range gallery() {
		doc := parse(t, render(t, page))
		ids := map[string]bool{}
		for _, n := range elements(doc) {
			id, _ := attr(n, "id")
			ids[id] = true
		}
		for _, n := range elements(doc) {
			for _, key := range []string{"for", "form", "aria-labelledby", "href", "hx-target", "hx-indicator"} {
				ref, ok := attr(n, key)
				if key == "href" || key == "hx-target" || key == "hx-indicator" {
					ref, ok = strings.CutPrefix(ref, "#")
				}
				if ok && !ids[ref] {
					t.Errorf("%s: <%s %s> refers to %q, which is not there", name, n.Data, key, ref)
				}
			}
		}
	}
}

func TestEveryControlHasAName(t *testing.T) {
	eachPage(t, func(t *testing.T, doc *html.Node) {
		for _, n := range elements(doc) {
			if slices.Contains([]string{"input", "select", "button", "a", "progress", "summary"}, n.Data) && !named(doc, n) {
				t.Errorf("<%s %v> has no name", n.Data, n.Attr)
			}
			if _, ok := attr(n, "alt"); n.Data == "img" && !ok {
				t.Errorf("an image without alt: %v", n.Attr)
			}
		}
	})
}

func named(doc, n *html.Node) bool {
	if kind, _ := attr(n, "type"); kind == "hidden" {
		return true
	}
	if hidden, _ := attr(n, "aria-hidden"); hidden == "true" {
		return true
	}
	if label, _ := attr(n, "aria-label"); label != "" || (n.Data != "select" && strings.TrimSpace(text(n)) != "") {
		return true
	}
	for p := n.Parent; p != nil; p = p.Parent {
		if p.Data == "label" {
			return true
		}
	}
	id, ok := attr(n, "id")
	return ok && slices.ContainsFunc(elements(doc), func(l *html.Node) bool {
		target, _ := attr(l, "for")
		return l.Data == "label" && target == id
	})
}

func TestEveryPageHasATitleOneHeadingAndOneMain(t *testing.T) {
	t.Parallel()
	for name, page := range gallery() {
		count := map[string]int{}
		for _, n := range elements(parse(t, render(t, page))) {
			count[n.Data]++
			if n.Data == "title" && !strings.HasSuffix(text(n), " - Filmroom") {
				t.Errorf("%s: title %q", name, text(n))
			}
		}
		if count["title"] != 1 || count["h1"] != 1 || count["main"] != 1 {
			t.Errorf("%s: %d titles, %d h1, %d main", name, count["title"], count["h1"], count["main"])
		}
	}
}

// A name with a right-to-left mark turns around what follows it, unless it stands in an element of its own
// that isolates it.
func TestForeignTextIsIsolated(t *testing.T) {
	t.Parallel()
	for name, page := range gallery() {
		if !strings.Contains(name, "hostile") {
			continue
		}
		for n := range parse(t, render(t, page)).Descendants() {
			if n.Type == html.TextNode && strings.Contains(n.Data, "\u202e") && !isolated(n) {
				t.Errorf("%s: not isolated in <%s>: %.60q", name, n.Parent.Data, n.Data)
			}
		}
	}
}

func isolated(n *html.Node) bool {
	for p := n.Parent; p != nil; p = p.Parent {
		// A title, an option, a code block or a log line holds nothing else that could be turned around.
		if slices.Contains([]string{"bdi", "option", "title", "pre", "progress"}, p.Data) {
			return true
		}
		if class, _ := attr(p, "class"); slices.ContainsFunc([]string{"badge", "notice", "stage-name", "journal-word"}, func(c string) bool { return strings.Contains(class, c) }) {
			return true
		}
	}
	return false
}
