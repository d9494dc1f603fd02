package tasks

// RememberedEnds bounds how many ends are kept in mind.
const RememberedEnds = rememberedEnds

// Publish tells viewers of a task, as the engine does.
func (m *Manager) Publish(t Task) { m.broker.publish(t) }

// Remembered counts what is in memory: attempts, and ends that late news is held against.
func (m *Manager) Remembered() (attempts, ends int) {
	attempts = len(m.live())
	m.broker.mu.Lock()
	defer m.broker.mu.Unlock()
	return attempts, len(m.broker.ended)
}
