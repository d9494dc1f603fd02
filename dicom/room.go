package dicom

import "unsafe"

// What the parts of a data set count against MaxMemory.
const (
	elementSize = int(unsafe.Sizeof(Element{}) + unsafe.Sizeof(&Element{}))
	datasetSize = int(unsafe.Sizeof(Dataset{}) + 2*unsafe.Sizeof(&Dataset{}))
)

// room hands out the small pieces that a file consists of from larger blocks, each twice the size of
// the one before: hundreds of elements cost a handful of allocations.
type room struct {
	elements []Element
	lists    []*Element
	values   []byte

	elementBlock, valueBlock int
}

func (r *room) element() *Element {
	if len(r.elements) == 0 {
		r.elementBlock = min(max(32, 2*r.elementBlock), 256)
		r.elements = make([]Element, r.elementBlock)
	}
	e := &r.elements[0]
	r.elements = r.elements[1:]
	return e
}

// list is room for the elements of one data set. It cannot grow into what is handed out next.
func (r *room) list(n int) []*Element {
	if n > len(r.lists) {
		if n > 64 {
			return make([]*Element, n)
		}
		r.lists = make([]*Element, 256)
	}
	l := r.lists[:n:n]
	r.lists = r.lists[n:]
	return l
}

// bytes is room for one value. It cannot grow into what is handed out next.
func (r *room) bytes(n int) []byte {
	if n > len(r.values) {
		if n > 1<<10 {
			return make([]byte, n)
		}
		r.valueBlock = min(max(2<<10, 2*r.valueBlock), 32<<10)
		r.values = make([]byte, r.valueBlock)
	}
	b := r.values[:n:n]
	r.values = r.values[n:]
	return b
}
