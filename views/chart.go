package views

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// A Chart is a small drawing of a series, as SVG without a style of its own: an area under a line, in a
// box of chartWidth by chartHeight units that the page stretches.
type Chart struct {
	ID      string
	Title   string // "Ended, last hour"
	Figure  string // the one number people came for: "42 in the last hour"
	Peak    string // what the upper edge stands for
	Line    string // path of the line, "" when there is nothing to draw
	Area    string // path of the area under it
	Summary string // for those who do not see it
}

const chartWidth, chartHeight = 240, 40

func endedChart(lane string, h LaneHistory) Chart {
	values, total, peak := make([]float64, len(h.Ended)), 0, 0
	for i, n := range h.Ended {
		values[i], total, peak = float64(n), total+n, max(peak, n)
	}
	c := Chart{ID: laneDOMID(lane) + "-ended", Title: "Ended, last hour", Figure: Count(total)}
	c.Summary = Plural(total, "task") + " ended in the last hour"
	if peak > 0 {
		c.Peak = Count(peak) + " a minute"
		c.Summary += fmt.Sprintf(", at most %d in a minute", peak)
	}
	c.draw(values)
	return c
}

func waitedChart(lane string, h LaneHistory) Chart {
	values, peak, latest := make([]float64, len(h.Waited)), time.Duration(0), time.Duration(-1)
	for i, d := range h.Waited {
		if d < 0 {
			values[i] = math.NaN()
			continue
		}
		values[i], peak, latest = d.Seconds(), max(peak, d), d
	}
	c := Chart{ID: laneDOMID(lane) + "-waited", Title: "Wait to start", Figure: "none", Summary: "No task started in the last hour"}
	if latest >= 0 {
		c.Figure, c.Peak = Duration(latest), Duration(peak)
		c.Summary = "Tasks that started last had waited " + Duration(latest) + ", at most " + Duration(peak) + " in the last hour"
	}
	c.draw(values)
	return c
}

// draw makes the paths. A slot without a value (NaN) keeps the height of the one before it.
func (c *Chart) draw(values []float64) {
	peak, known := 0.0, false
	for _, v := range values {
		if !math.IsNaN(v) {
			peak, known = max(peak, v), true
		}
	}
	if !known || peak == 0 || len(values) < 2 {
		return
	}
	var line strings.Builder
	height := 0.0
	for i, v := range values {
		if !math.IsNaN(v) {
			height = v / peak
		}
		x := float64(i) * chartWidth / float64(len(values)-1)
		y := chartHeight - 1 - height*(chartHeight-3)
		fmt.Fprintf(&line, "%c%.1f %.1f", "LM"[b2i(i == 0)], x, y)
	}
	c.Line = line.String()
	c.Area = fmt.Sprintf("%sL%d %dL0 %dZ", c.Line, chartWidth, chartHeight, chartHeight)
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}
