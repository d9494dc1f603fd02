package taskstest

import (
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	"filmroom/tasks"
)

// Filled returns a running record in which every field, however deep, has a value that is not its zero
// value; two calls differ in all fields but Status. It walks the type, so a field that is added to
// [tasks.Task] takes part in the suites without being named here.
func Filled() tasks.Task {
	var t tasks.Task
	f := filler{n: ids.Add(1000)}
	f.fill(reflect.ValueOf(&t).Elem(), "Task")
	t.Status = tasks.StatusProcessing
	return t
}

type filler struct{ n int64 }

var (
	timeType = reflect.TypeFor[time.Time]()
	rawType  = reflect.TypeFor[json.RawMessage]()
)

func (f *filler) fill(v reflect.Value, path string) {
	f.n++
	switch {
	case v.Type() == timeType:
		v.Set(reflect.ValueOf(Epoch.Add(time.Duration(f.n) * time.Millisecond)))
	case v.Type() == rawType:
		v.SetBytes(fmt.Appendf(nil, `{"n":%d,"text":"\"é\""}`, f.n))
	case v.Kind() == reflect.String:
		v.SetString(fmt.Sprintf("%s é \"%d\"", path, f.n))
	case v.Kind() == reflect.Bool:
		v.SetBool(true)
	case v.CanInt():
		v.SetInt(f.n)
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem(), path)
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Uint8:
		v.SetBytes([]byte{0, 0xff, byte(f.n), byte(f.n >> 8), byte(f.n >> 16)})
	case v.Kind() == reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		f.fill(v.Index(0), path)
		f.fill(v.Index(1), path)
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			f.fill(v.Field(i), path+"."+v.Type().Field(i).Name)
		}
	default:
		panic(fmt.Sprintf("taskstest: teach the filler about %s %s", path, v.Type()))
	}
}
