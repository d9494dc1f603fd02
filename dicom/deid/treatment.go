package deid

// treatment is what becomes of an attribute under one plan: an action of Table E.1-1a with the
// compound ones and the options resolved.
type treatment uint8

const (
	remove  treatment = iota + 1
	empty             // zero length
	dummy             // a value that fits VR and VM
	mapUID            // a new UID, the same one for the same old UID
	keep              // unchanged but for the search in text; a sequence item by item
	clean             // as keep, and what the file lost elsewhere is searched for too
	shift             // dates move
	content           // content items by Table E.3.4-1
	graphic           // annotations, without what identifies
)

// resolve is the treatment of a row of Table E.1-1. Where several options apply, one that cleans goes
// before one that keeps: to keep a device's calibration date must not undo that dates are shifted.
func resolve(basic action, columns [10]action, on [10]bool) treatment {
	kept := false
	for column, a := range columns {
		switch {
		case !on[column]:
		case a == actionC:
			return cleaning(column)
		case a == actionK:
			kept = true
		}
	}
	if kept {
		return keep
	}
	switch basic {
	case actionZ, actionXZ:
		return empty
	case actionD, actionXD, actionXZD, actionZD:
		return dummy
	case actionU:
		return mapUID
	case actionXZU, actionK:
		return keep
	}
	return remove
}

// cleaning is what C means in an option's column.
func cleaning(column int) treatment {
	switch column {
	case retainModifiedDates:
		return shift
	case cleanStructuredContent:
		return content
	case cleanGraphics:
		return graphic
	}
	return clean
}
