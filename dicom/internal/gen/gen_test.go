package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// The committed tables must be what the generator makes of the standard's.
func TestTheTablesAreFresh(t *testing.T) {
	t.Parallel()
	dicom := filepath.Join("..", "..")
	tables := sharedTables(dicom)
	if _, err := os.Stat(tables); err != nil {
		t.Skip("the standard's tables are not beside the repository: set FILMROOM_SHARED to the folder that has dicom-standard")
	}
	for _, o := range outputs {
		want, err := o.generate(tables)
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(dicom, o.file))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("dicom/%s is stale: run go generate ./dicom", o.file)
		}
	}
}

func TestATableThatIsDamagedIsRefused(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "x.tsv")
	if err := os.WriteFile(name, []byte("a\tb\n1\t2\n3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readTable(name); err == nil {
		t.Error("a row of one cell among rows of two was taken")
	}
	if _, err := readTable(name + "x"); err == nil {
		t.Error("a table that is not there was read")
	}
	if err := writeSafePrivate(new(bytes.Buffer), []row{{"element": "1001"}}); err == nil {
		t.Error("an element without a block was taken")
	}
}

func TestWildcardsOfTagsBecomeMasks(t *testing.T) {
	t.Parallel()
	for tag, want := range map[string]string{
		"00100010": "0xFFFFFFFF", "002031xx": "0xFFFFFF00", "60xx3000": "0xFF01FFFF", "50xxxxxx": "0xFF010000", "1000xxx0": "0xFFFF000F",
	} {
		if got := mask(tag); got != want {
			t.Errorf("%s has mask %s, want %s", tag, got, want)
		}
	}
}
