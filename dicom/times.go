package dicom

import (
	"fmt"
	"strings"
	"time"
)

// Precision is the last part that a partial time states (PS3.5 section 6.2, TM and DT).
type Precision uint8

// From a year alone to fractions of a second.
const (
	Year Precision = iota + 1
	Month
	Day
	Hour
	Minute
	Second
	Fraction
)

// ParseDate reads a DA value: YYYYMMDD, a day of the calendar. The result is midnight UTC. Its error, as
// those of the other parsers here, wraps ErrValue and says what would be right.
func ParseDate(s string) (time.Time, error) {
	t, err := time.Parse("20060102", s)
	if err != nil || strings.Trim(s, digits) != "" {
		return time.Time{}, malformedValue("not a date: want YYYYMMDD")
	}
	return t, nil
}

// FormatDate writes a DA value.
func FormatDate(t time.Time) string { return t.Format("20060102") }

// Clock is a TM value: a time of day.
type Clock struct {
	SinceMidnight time.Duration // a leap second, 60, counts as the next minute's first
	Precision     Precision     // Hour, Minute, Second or Fraction
}

const digits = "0123456789"

// ParseClock reads a TM value: HH, HHMM, HHMMSS or HHMMSS.F with up to six digits of fraction.
func ParseClock(s string) (Clock, error) {
	const want = malformedValue("not a time of day: want HHMMSS.FFFFFF, or less of it from the left")
	whole, fraction, hasFraction := strings.Cut(s, ".")
	if len(whole)%2 != 0 || len(whole) < 2 || len(whole) > 6 || strings.Trim(whole+fraction, digits) != "" {
		return Clock{}, want
	}
	if hasFraction && (len(whole) != 6 || fraction == "" || len(fraction) > 6) {
		return Clock{}, want
	}
	var parts [3]int
	for i := range len(whole) / 2 {
		parts[i] = int(whole[2*i]-'0')*10 + int(whole[2*i+1]-'0')
	}
	if parts[0] > 23 || parts[1] > 59 || parts[2] > 60 {
		return Clock{}, want
	}
	c := Clock{Precision: Hour + Precision(len(whole)/2-1)}
	c.SinceMidnight = time.Duration(parts[0])*time.Hour + time.Duration(parts[1])*time.Minute + time.Duration(parts[2])*time.Second
	if hasFraction {
		c.Precision = Fraction
		unit := time.Second
		for i := range len(fraction) {
			unit /= 10
			c.SinceMidnight += time.Duration(fraction[i]-'0') * unit
		}
	}
	return c, nil
}

// DateTime is a DT value.
type DateTime struct {
	Time      time.Time // what is not stated is its first possible value; UTC without HasZone
	Precision Precision
	HasZone   bool // the value states its offset from UTC
}

// ParseDateTime reads a DT value: YYYYMMDDHHMMSS.FFFFFF&ZZXX, where all but the year may be missing
// from the right, and the offset from UTC may follow any of it.
func ParseDateTime(s string) (DateTime, error) {
	const want = malformedValue("not a date and time: want YYYYMMDDHHMMSS.FFFFFF+ZZXX, or less of it from the left")
	var dt DateTime
	zone := time.UTC
	if i := strings.IndexAny(s, "+-"); i >= 0 {
		var ok bool
		if zone, ok = parseZone(s[i:]); !ok {
			return dt, want
		}
		dt.HasZone = true
		s = s[:i]
	}
	layout := "20060102"
	day, clock := s, ""
	if len(s) > len(layout) {
		day, clock = s[:len(layout)], s[len(layout):]
	}
	if len(day) < 4 || len(day)%2 != 0 || strings.Trim(day, digits) != "" {
		return dt, want
	}
	t, err := time.ParseInLocation(layout[:len(day)], day, zone)
	if err != nil {
		return dt, want
	}
	dt.Time, dt.Precision = t, Year+Precision(len(day)-4)/2
	if clock != "" {
		c, err := ParseClock(clock)
		if err != nil {
			return dt, want
		}
		dt.Time, dt.Precision = t.Add(c.SinceMidnight), c.Precision
	}
	return dt, nil
}

// parseZone reads an offset from UTC, -1200 to +1400.
func parseZone(s string) (*time.Location, bool) {
	if len(s) != 5 || strings.Trim(s[1:], digits) != "" {
		return nil, false
	}
	minutes := (int(s[1]-'0')*10+int(s[2]-'0'))*60 + int(s[3]-'0')*10 + int(s[4]-'0')
	if s[0] == '-' {
		minutes = -minutes
	}
	if s[3] > '5' || minutes < -12*60 || minutes > 14*60 {
		return nil, false
	}
	return time.FixedZone("", minutes*60), true
}

// Age is an AS value: a number of days, weeks, months or years.
type Age struct {
	N    int
	Unit byte // 'D', 'W', 'M' or 'Y'
}

// ParseAge reads an AS value: three digits and a unit, "034Y".
func ParseAge(s string) (Age, error) {
	if len(s) != 4 || strings.Trim(s[:3], digits) != "" || !strings.Contains("DWMY", s[3:]) {
		return Age{}, malformedValue("not an age: want three digits and one of D, W, M, Y, such as 034Y")
	}
	return Age{int(s[0]-'0')*100 + int(s[1]-'0')*10 + int(s[2]-'0'), s[3]}, nil
}

// String is the age as DICOM writes it.
func (a Age) String() string { return fmt.Sprintf("%03d%c", a.N, a.Unit) }

func first[T any](d *Dataset, t Tag, parse func(string) (T, error)) (T, error) {
	var none T
	e, err := d.present(t)
	if err != nil {
		return none, err
	}
	values, err := parseAll(d, e, parse)
	if err != nil {
		return none, err
	}
	return values[0], nil
}

// Date is the first value of a DA element, at midnight UTC. The error wraps ErrAbsent or ErrValue;
// String has the raw text.
func (d *Dataset) Date(t Tag) (time.Time, error) { return first(d, t, ParseDate) }

// Clock is the first value of a TM element.
func (d *Dataset) Clock(t Tag) (Clock, error) { return first(d, t, ParseClock) }

// DateTime is the first value of a DT element.
func (d *Dataset) DateTime(t Tag) (DateTime, error) { return first(d, t, ParseDateTime) }

// Age is the first value of an AS element.
func (d *Dataset) Age(t Tag) (Age, error) { return first(d, t, ParseAge) }
