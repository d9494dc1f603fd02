package tasks

import (
	"encoding/json"
	"slices"
)

// Kind returns a registered kind.
func (m *Manager) Kind(name string) (Kind, bool) {
	k, ok := m.cfg.Kinds.get(name)
	if !ok {
		return Kind{}, false
	}
	return *k, true
}

// KindNames are the names of all registered kinds, sorted.
func (m *Manager) KindNames() []string { return m.cfg.Kinds.Names() }

// DirectKinds are the names of the kinds that people may submit themselves, sorted; see [Kind].
func (m *Manager) DirectKinds() []string {
	return slices.DeleteFunc(m.cfg.Kinds.Names(), func(name string) bool {
		k, _ := m.cfg.Kinds.get(name)
		return !k.Direct
	})
}

// Check says what is wrong with arguments of the kind, as a submit would.
func (k Kind) Check(args json.RawMessage) error { return k.check(args) }
