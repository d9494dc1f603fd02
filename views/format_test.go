package views

import (
	"testing"
	"time"
)

func TestSizesAreDecimalWithThreeFigures(t *testing.T) {
	t.Parallel()
	for bytes, want := range map[int64]string{
		0: "0 B", 812: "812 B", 999: "999 B", 1000: "1.00 kB", 4200: "4.20 kB", 9_996: "10.0 kB", 99_960: "100 kB",
		999_400: "999 kB", 999_600: "1.00 MB", 212_400_000: "212 MB", 1_070_000_000: "1.07 GB", 1 << 62: "4.61 EB",
	} {
		if got := Size(bytes); got != want {
			t.Errorf("%d: %q, want %q", bytes, got, want)
		}
	}
}

func TestDurationsHaveTwoUnitsAtMost(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		-time.Second: "0 ms", 40 * time.Millisecond: "40 ms", 1500 * time.Millisecond: "1.5 s", 6 * time.Second: "6 s", 59*time.Second + 999*time.Millisecond: "59 s",
		4 * time.Minute: "4 min", 4*time.Minute + 5*time.Second: "4 min 5 s", 2*time.Hour + 10*time.Minute: "2 h 10 min", 76 * time.Hour: "3 d 4 h",
	} {
		if got := Duration(d); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
}

func TestAgesRoundDownAndWhatIsToComeRoundsUp(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		0: "just now", 4 * time.Second: "just now", 119 * time.Second: "1 min ago", 47 * time.Hour: "47 h ago", 49 * time.Hour: "2 d ago",
		-90 * time.Second: "in 2 min", -(7*24*time.Hour - time.Second): "in 7 d",
	} {
		if got := NewWhen(galleryNow.Add(-d), galleryNow).Ago; got != want {
			t.Errorf("%v ago: %q, want %q", d, got, want)
		}
	}
	if !NewWhen(time.Time{}, galleryNow).Zero() {
		t.Error("no moment became one")
	}
}

func TestCountsAndNouns(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{0: "0 images", 1: "1 image", 999: "999 images", 1204: "1,204 images", 1_000_000: "1,000,000 images", -1234: "-1,234 images"} {
		if got := Plural(n, "image"); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
	if got := Plural(2, "series"); got != "2 series" {
		t.Error(got)
	}
}

func TestPersonNamesAreWrittenAsPeopleWriteThem(t *testing.T) {
	t.Parallel()
	for pn, want := range map[string]string{
		"": "", "Marsh^Ada": "Marsh, Ada", "Marsh^Ada^Mary^Dr^PhD": "Marsh, Dr Ada Mary PhD", "ANON": "ANON", "^Ada": "Ada",
		"Yamada^Tarou=山田^太郎=やまだ^たろう": "Yamada, Tarou (山田, 太郎)", "=山田^太郎": "山田, 太郎", "A^B^C^D^E^F": "A, D B C E",
	} {
		if got := personName(pn); got != want {
			t.Errorf("%q: %q, want %q", pn, got, want)
		}
	}
}
