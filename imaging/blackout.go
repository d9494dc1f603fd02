package imaging

import (
	"fmt"
	"image"
	"slices"
)

// cleanPixelData is the option of PS3.15 section E.3.1. Who asks for it says what to paint over.
const cleanPixelData = "cleanPixelData"

const (
	maxRectangles = 100     // of one series
	maxPixel      = 1 << 16 // what Rows and Columns can say (PS3.3 section C.7.6.3)
)

// checkBlackout says what is wrong with rectangles; series are those taken out, in order.
func checkBlackout(blackout map[string][][]int, series []string) (wrong FieldErrors) {
	for id, list := range blackout {
		switch _, chosen := slices.BinarySearch(series, id); {
		case !chosen:
			wrong.add("blackout", "it names a series that is not taken out")
		case len(list) == 0 || len(list) > maxRectangles:
			wrong.add("blackout", fmt.Sprintf("give 1 to %d rectangles for a series", maxRectangles))
		case slices.ContainsFunc(list, badRectangle):
			wrong.add("blackout", fmt.Sprintf("a rectangle is [x, y, width, height] in pixels from the upper left corner: x and y from 0, width and height from 1, none over %d", maxPixel))
		default:
			continue
		}
		return wrong
	}
	return wrong
}

func badRectangle(r []int) bool {
	if len(r) != 4 || r[2] < 1 || r[3] < 1 {
		return true
	}
	return slices.ContainsFunc(r, func(n int) bool { return n < 0 || n > maxPixel })
}

// rectangles are those of a request that was checked.
func rectangles(list [][]int) []image.Rectangle {
	all := make([]image.Rectangle, len(list))
	for i, r := range list {
		all[i] = image.Rect(r[0], r[1], r[0]+r[2], r[1]+r[3])
	}
	return all
}
