package sqlite

import (
	"slices"
	"strings"

	"filmroom/imaging"
	"filmroom/sqlite/internal/lite"
)

var selectSeriesRow = "SELECT " + seriesColumns.names() + " FROM series WHERE row = ?"

// Rows of the series of a library that one filter selects.
const (
	rowsByTask     = "SELECT row FROM series WHERE taskId = ? LIMIT ?"
	rowsByPatient  = "SELECT row FROM series WHERE libraryId = ? AND patientId = ? LIMIT ?"
	rowsByName     = "SELECT row FROM series WHERE libraryId = ? AND patientNameFold >= ? AND patientNameFold < ? LIMIT ?"
	rowsByStudy    = "SELECT row FROM series WHERE libraryId = ? AND studyUid = ? LIMIT ?"
	rowsBySeries   = "SELECT row FROM series WHERE libraryId = ? AND seriesUid = ? LIMIT ?"
	rowsByModality = "SELECT row FROM series WHERE libraryId = ? AND modality = ? LIMIT ?"
	rowsByDate     = "SELECT row FROM series WHERE libraryId = ? AND studyDate >= ? AND studyDate <= ? LIMIT ?"
	rowsByWord     = "SELECT row FROM series_words WHERE libraryId = ? AND word >= ? AND word < ? LIMIT ?"
)

// filters are the statements that each of the query's filters selects rows with, short of their limit.
func (l *shelf) filters() (all []func() *lite.Stmt) {
	q := &l.q
	add := func(asked bool, sql string, args ...string) {
		if asked {
			all = append(all, func() *lite.Stmt {
				s := l.c.Stmt(sql)
				for _, arg := range args {
					s.Text(arg)
				}
				return s
			})
		}
	}
	add(q.SeriesUID != "", rowsBySeries, q.LibraryID, q.SeriesUID)
	add(q.TaskID != "", rowsByTask, q.TaskID)
	add(q.StudyUID != "", rowsByStudy, q.LibraryID, q.StudyUID)
	add(q.PatientID != "", rowsByPatient, q.LibraryID, q.PatientID)
	add(l.name != "", rowsByName, q.LibraryID, l.name, beyond(l.name))
	for _, w := range q.Words {
		add(true, rowsByWord, q.LibraryID, w, beyond(w))
	}
	from, to := l.dates()
	add(q.From != "" || q.To != "", rowsByDate, q.LibraryID, from, to)
	add(q.Modality != "", rowsByModality, q.LibraryID, q.Modality)
	return all
}

// dates is the range of study dates asked for, both inclusive; a series without a date is in none.
func (l *shelf) dates() (from, to string) {
	from, to = l.q.From, l.q.To
	if from == "" {
		from = "0"
	}
	if to == "" {
		to = "99999999"
	}
	return from, to
}

func (l *shelf) unfiltered() bool { return len(l.q.IDs) == 0 && len(l.filters()) == 0 }

// few returns rows among which are all that match, if some filter selects few.
func (l *shelf) few() (rows []int64, ok bool, err error) {
	if len(l.q.IDs) > 0 {
		rows, err = l.rowsOfIDs()
		return rows, true, err
	}
	for _, filter := range l.filters() {
		s := filter().Int(int64(l.most + 1))
		var some []int64
		for s.Next() {
			some = append(some, s.ReadInt())
		}
		if err := s.Err(); err != nil {
			return nil, false, err
		}
		if len(some) <= l.most && (!ok || len(some) < len(rows)) {
			rows, ok = some, true
		}
	}
	slices.Sort(rows) // two words of a series may begin alike
	return slices.Compact(rows), ok, nil
}

func (l *shelf) rowsOfIDs() (rows []int64, err error) {
	for _, id := range l.q.IDs {
		row, err := number(l.c.Stmt(selectRowOfSeries).Text(id).Text(l.q.LibraryID))
		if err != nil {
			return nil, err
		}
		if row != 0 {
			rows = append(rows, row)
		}
	}
	slices.Sort(rows)
	return slices.Compact(rows), nil
}

// matches holds a series against the whole query.
func (l *shelf) matches(s *imaging.Series) bool {
	q := &l.q
	from, to := l.dates()
	return s.LibraryID == q.LibraryID &&
		(len(q.IDs) == 0 || slices.Contains(q.IDs, s.ID)) &&
		(q.Modality == "" || s.Modality == q.Modality) &&
		(q.From == "" && q.To == "" || from <= s.StudyDate && s.StudyDate <= to) &&
		(q.TaskID == "" || s.TaskID == q.TaskID) &&
		(q.PatientID == "" || s.PatientID == q.PatientID) &&
		(l.name == "" || strings.HasPrefix(strings.ToLower(s.PatientName), l.name)) &&
		(q.StudyUID == "" || s.StudyUID == q.StudyUID) &&
		(q.SeriesUID == "" || s.SeriesUID == q.SeriesUID) &&
		(len(q.Words) == 0 || haveWords(strings.Join(s.SearchWords(), " "), q.Words))
}
