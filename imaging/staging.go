package imaging

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"regexp"
	"sync"

	"filmroom/tasks"
)

// staging keeps what was sent until it is imported, as <dir>/<taskId>/data, all files one after another,
// and <dir>/<taskId>/manifest, a JSON line for each. One large file costs one sync and one name, however many
// files a transfer has. A manifest with its closing line says that both are whole.
type staging struct {
	dir  string
	room *room

	mu     sync.Mutex
	active map[string]bool // transfers under way, by task id, which have no task yet
	keys   map[string]bool // idempotency keys of transfers under way, with their user
}

// A stagedFile is one file that was sent, as its line of the manifest.
type stagedFile struct {
	Name string `json:"name"`
	Size int64  `json:"size"`
}

// stagedEnd is the last line of a manifest.
type stagedEnd struct {
	Files   int64  `json:"files"`
	Bytes   int64  `json:"bytes"`
	Content string `json:"content,omitempty"` // digest of names and bytes, for idempotency keys
}

// manifestLine is either.
type manifestLine struct {
	File *stagedFile `json:"file,omitempty"`
	End  *stagedEnd  `json:"end,omitempty"`
}

func openStaging(dir string, r *room) (*staging, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("staging: %w", err)
	}
	return &staging{dir: dir, room: r, active: map[string]bool{}, keys: map[string]bool{}}, nil
}

// begin reserves an idempotency key and a place under the id of the task to be. Each is given back once: a key may be
// another transfer's by the time its files are gone.
func (s *staging) begin(id, key string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if key != "" && s.keys[key] {
		return ErrUploadUnderWay
	}
	if err := os.Mkdir(s.path(id), 0o700); err != nil {
		return fmt.Errorf("staging: %w", full(err))
	}
	s.active[id] = true
	if key != "" {
		s.keys[key] = true
	}
	return nil
}

// release gives back the key that begin reserved.
func (s *staging) release(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.keys, key)
}

// end gives back the place that begin reserved; what was written stays, to a task or to the sweep.
func (s *staging) end(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.active, id)
}

func (s *staging) isActive(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.active[id]
}

func (s *staging) path(id string, more ...string) string {
	return filepath.Join(append([]string{s.dir, id}, more...)...)
}

var taskID = regexp.MustCompile(`^[0-9A-Z]{26}$`)

// list returns the task ids that have staged input.
func (s *staging) list() ([]string, error) {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return nil, fmt.Errorf("staging: %w", err)
	}
	var ids []string
	for _, e := range entries {
		if taskID.MatchString(e.Name()) {
			ids = append(ids, e.Name())
		}
	}
	return ids, nil
}

func (s *staging) remove(id string) error { return os.RemoveAll(s.path(id)) }

// has reports whether the whole input of a task is there.
func (s *staging) has(id string) bool {
	in, err := s.open(id)
	if err != nil {
		return false
	}
	in.close()
	return true
}

// An input is the staged input of one task, open for reading by many goroutines.
type input struct {
	data     *os.File
	manifest *os.File
	end      stagedEnd
}

// open opens a task's input; [tasks.ErrInputGone] when it is not there in full.
func (s *staging) open(id string) (*input, error) {
	in := &input{}
	var err error
	if in.manifest, err = os.Open(s.path(id, "manifest")); err == nil {
		in.data, err = os.Open(s.path(id, "data"))
	}
	if err == nil {
		in.end, err = readEnd(in.manifest)
	}
	if err == nil {
		return in, nil
	}
	in.close()
	if errors.Is(err, os.ErrNotExist) {
		return nil, tasks.ErrInputGone
	}
	return nil, fmt.Errorf("staging: %w", err)
}

// close may be called on an input that was opened in part.
func (in *input) close() {
	_ = in.data.Close() // a nil file answers ErrInvalid
	_ = in.manifest.Close()
}

// readEnd reads the closing line, which is never longer than this.
func readEnd(manifest *os.File) (end stagedEnd, err error) {
	const most = 256
	size, err := manifest.Seek(0, io.SeekEnd)
	if err != nil {
		return end, err
	}
	tail := make([]byte, min(size, most))
	if _, err := manifest.ReadAt(tail, size-int64(len(tail))); err != nil {
		return end, err
	}
	lines := splitLines(tail)
	var line manifestLine
	if len(lines) == 0 || json.Unmarshal(lines[len(lines)-1], &line) != nil || line.End == nil {
		return end, errors.New("a manifest has no end")
	}
	return *line.End, nil
}

// files yields what was sent, in order, with its bytes.
func (in *input) files() iter.Seq2[stagedFile, *io.SectionReader] {
	return func(yield func(stagedFile, *io.SectionReader) bool) {
		lines := json.NewDecoder(bufio.NewReader(io.NewSectionReader(in.manifest, 0, 1<<62)))
		for offset := int64(0); ; {
			var line manifestLine
			if err := lines.Decode(&line); err != nil || line.File == nil {
				return
			}
			if !yield(*line.File, io.NewSectionReader(in.data, offset, line.File.Size)) {
				return
			}
			offset += line.File.Size
		}
	}
}

func splitLines(b []byte) [][]byte {
	var lines [][]byte
	for start, i := 0, 0; i < len(b); i++ {
		if b[i] == '\n' {
			lines = append(lines, b[start:i])
			start = i + 1
		}
	}
	return lines
}
