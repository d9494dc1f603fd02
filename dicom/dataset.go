package dicom

import (
	"cmp"
	"iter"
	"slices"
)

// Dataset is a set of data elements in ascending order of their tags: a file's own, or an item of a
// sequence. The zero Dataset is empty and ready for use. A Dataset may be read by many goroutines, but
// not while one changes it.
type Dataset struct {
	// Undefined says that an item had no length in its file but a delimiter at its end. Write keeps it so.
	Undefined bool
	// Offset is where the first element begins in its file, see Error.Offset; -1 for one made in memory.
	Offset int64

	elements []*Element
	parent   *Dataset // the data set that holds the sequence of this item; nil for the outermost
}

// NewDataset makes a data set of elements, in any order. Of two with one tag the last counts.
func NewDataset(elements ...*Element) *Dataset {
	d := &Dataset{Offset: -1}
	for _, e := range elements {
		d.Set(e)
	}
	return d
}

func (d *Dataset) find(t Tag) (int, bool) {
	return slices.BinarySearchFunc(d.elements, t, func(e *Element, t Tag) int { return cmp.Compare(e.Tag, t) })
}

// Len is the number of elements, those within sequences not counted.
func (d *Dataset) Len() int { return len(d.elements) }

// Get finds an element. It belongs to the data set: changing it changes the data set.
func (d *Dataset) Get(t Tag) (*Element, bool) {
	if d == nil {
		return nil, false
	}
	if i, ok := d.find(t); ok {
		return d.elements[i], true
	}
	return nil, false
}

// Has reports whether the element is there, with a value or without.
func (d *Dataset) Has(t Tag) bool {
	_, ok := d.Get(t)
	return ok
}

// All are the elements in ascending order. The data set may be changed meanwhile: what the loop has
// not reached yet and is removed does not appear, what is added behind it does.
func (d *Dataset) All() iter.Seq2[Tag, *Element] {
	return func(yield func(Tag, *Element) bool) {
		if d == nil {
			return
		}
		for i := 0; i < len(d.elements); {
			e := d.elements[i]
			if !yield(e.Tag, e) {
				return
			}
			if i < len(d.elements) && d.elements[i] == e {
				i++ // nothing has moved
				continue
			}
			i, _ = d.find(e.Tag + 1)
			if e.Tag == ^Tag(0) {
				return
			}
		}
	}
}

// Set puts an element in its place and takes away one of the same tag. The items of a sequence become
// items of d: they must not belong to another data set as well.
func (d *Dataset) Set(e *Element) {
	for _, item := range e.Items {
		item.parent = d
	}
	if n := len(d.elements); n == 0 || d.elements[n-1].Tag < e.Tag {
		d.elements = append(d.elements, e) // most come in order
		return
	}
	i, ok := d.find(e.Tag)
	if ok {
		d.elements[i] = e
		return
	}
	d.elements = slices.Insert(d.elements, i, e)
}

// Grow makes room for n more elements, so that they are set without an allocation.
func (d *Dataset) Grow(n int) { d.elements = slices.Grow(d.elements, n) }

// Remove takes elements away and reports whether any was there.
func (d *Dataset) Remove(tags ...Tag) bool {
	removed := false
	for _, t := range tags {
		if i, ok := d.find(t); ok {
			d.elements = slices.Delete(d.elements, i, i+1)
			removed = true
		}
	}
	return removed
}

// Items are the data sets of a sequence; none where it is absent or empty.
func (d *Dataset) Items(t Tag) []*Dataset {
	if e, ok := d.Get(t); ok {
		return e.Items
	}
	return nil
}

// Parent is the data set whose sequence holds this item; nil for the outermost data set.
func (d *Dataset) Parent() *Dataset { return d.parent }

// Creator is the private creator that reserves the block of a private tag, "SIEMENS CSA HEADER" for
// (0029,1010) (PS3.5 section 7.8.1). ok is false for a tag that is in no reserved block.
func (d *Dataset) Creator(t Tag) (creator string, ok bool) {
	c := t.Creator()
	if c == 0 {
		return "", false
	}
	return d.String(c)
}

// Clone is a deep copy: its elements and items can be changed without touching d. Values are shared,
// for they are replaced rather than changed.
func (d *Dataset) Clone() *Dataset {
	c := &Dataset{Undefined: d.Undefined, Offset: d.Offset, elements: make([]*Element, len(d.elements)), parent: d.parent}
	for i, e := range d.elements {
		copied := *e
		if len(e.Items) > 0 {
			copied.Items = make([]*Dataset, len(e.Items))
			for j, item := range e.Items {
				copied.Items[j] = item.Clone()
				copied.Items[j].parent = c
			}
		}
		c.elements[i] = &copied
	}
	return c
}

// Node is one stop of Walk: an element, the data set it stands in and the path to it.
type Node struct {
	// Path is overwritten by the next step of the walk: clone it (slices.Clone) to keep it.
	Path    Path
	Dataset *Dataset
	Element *Element
}

// Walk visits every element, depth first: a sequence, then what is in it. An element may be removed
// or replaced while it is visited.
func (d *Dataset) Walk() iter.Seq[Node] {
	return func(yield func(Node) bool) { d.walk(nil, yield) }
}

func (d *Dataset) walk(path Path, yield func(Node) bool) bool {
	for t, e := range d.All() {
		here := append(path, Step{Tag: t})
		if !yield(Node{Path: here, Dataset: d, Element: e}) {
			return false
		}
		if len(e.Items) == 0 || !d.Has(t) {
			continue
		}
		for i, item := range e.Items {
			here[len(path)].Item = i + 1
			if !item.walk(here, yield) {
				return false
			}
		}
	}
	return true
}
