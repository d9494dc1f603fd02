package views

import (
	"fmt"
	"strconv"
	"time"
)

// A When is a moment as people read it: how long ago, with the exact time at hand. The browser keeps the
// relative words fresh and shows the exact time in its own zone.
type When struct {
	ISO   string // for machines: RFC 3339 with milliseconds, UTC
	Exact string // for the tooltip
	Ago   string // "2 min ago", "in 7 d", "just now"
}

// NewWhen words t as seen at now. The zero time is the zero When.
func NewWhen(t, now time.Time) When {
	if t.IsZero() {
		return When{}
	}
	t = t.UTC()
	return When{
		ISO:   t.Format("2006-01-02T15:04:05.000Z"),
		Exact: t.Format("2 Jan 2006, 15:04:05") + " UTC",
		Ago:   ago(now.Sub(t)),
	}
}

// Zero reports whether there is no such moment.
func (w When) Zero() bool { return w.ISO == "" }

func ago(d time.Duration) string {
	switch {
	case d > -time.Second && d < 5*time.Second:
		return "just now"
	case d < 0:
		return "in " + coarse(-d, true)
	default:
		return Coarse(d) + " ago"
	}
}

// Coarse words a duration by its largest unit alone: 6 s, 4 min, 2 h, 7 d. It rounds down, as ages do.
func Coarse(d time.Duration) string { return coarse(d, false) }

// coarse rounds down, or up for what is still to come: in the moment after "in 7 d" that is still true.
func coarse(d time.Duration, up bool) string {
	in := func(unit time.Duration, name string) string {
		if up {
			d += unit - 1
		}
		return fmt.Sprintf("%d %s", d/unit, name)
	}
	switch {
	case d < time.Minute:
		return in(time.Second, "s")
	case d < time.Hour:
		return in(time.Minute, "min")
	case d < 48*time.Hour:
		return in(time.Hour, "h")
	default:
		return in(24*time.Hour, "d")
	}
}

// Duration words how long something took: 40 ms, 6 s, 4 min 5 s, 2 h 10 min, 3 d 4 h.
func Duration(d time.Duration) string {
	d = max(d, 0)
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 10*time.Second:
		return strconv.FormatFloat(float64(d.Milliseconds()/100)/10, 'f', -1, 64) + " s"
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return two(int(d/time.Minute), "min", int(d/time.Second)%60, "s")
	case d < 48*time.Hour:
		return two(int(d/time.Hour), "h", int(d/time.Minute)%60, "min")
	default:
		return two(int(d/(24*time.Hour)), "d", int(d/time.Hour)%24, "h")
	}
}

func two(big int, unit string, small int, smaller string) string {
	if small == 0 {
		return fmt.Sprintf("%d %s", big, unit)
	}
	return fmt.Sprintf("%d %s %d %s", big, unit, small, smaller)
}

// Size words a number of bytes in decimal units, with three figures: 812 B, 4.2 kB, 212 MB, 1.07 GB.
func Size(bytes int64) string {
	units := []string{"B", "kB", "MB", "GB", "TB", "PB", "EB"}
	v, i := float64(bytes), 0
	for v >= 999.5 && i < len(units)-1 {
		v, i = v/1000, i+1
	}
	decimals := 0
	if i > 0 && v < 9.995 {
		decimals = 2
	} else if i > 0 && v < 99.95 {
		decimals = 1
	}
	return strconv.FormatFloat(v, 'f', decimals, 64) + " " + units[i]
}

// Count words a number with a comma between thousands.
func Count[N int | int64](n N) string {
	s := strconv.FormatInt(int64(n), 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Plural is a number with its noun, which takes -s: "1 image", "1,204 images".
func Plural[N int | int64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if noun == "series" {
		return Count(n) + " series"
	}
	return Count(n) + " " + noun + "s"
}

// date words a DICOM date (DA, YYYYMMDD) as 2026-11-21; what is not one is shown as it is.
func date(da string) string {
	if t, err := time.Parse("20060102", da); err == nil {
		return t.Format(time.DateOnly)
	}
	return da
}
