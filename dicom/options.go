package dicom

// The limits of Parse unless options say otherwise.
const (
	DefaultMaxDepth    = 64
	DefaultMaxMemory   = 64 << 20
	DefaultMaxInflated = 1 << 30
)

// Option changes how Parse reads.
type Option func(*config)

type config struct {
	strict       bool
	stopAtPixels bool
	keepUN       bool
	maxDepth     int
	maxMemory    int64
	maxInflated  int64
}

func configure(opts []Option) config {
	c := config{maxDepth: DefaultMaxDepth, maxMemory: DefaultMaxMemory, maxInflated: DefaultMaxInflated}
	for _, o := range opts {
		o(&c)
	}
	return c
}

// Strict refuses, with ErrStrict, everything that the lenient mode reads with a warning.
func Strict() Option { return func(c *config) { c.strict = true } }

// StopAtPixels ends reading at the first pixel data element of the outermost data set. That native
// pixel data is all there is still checked, from its length; fragments of encapsulated pixel data are
// not looked at, so a file cut within them is not noticed. File.Partial is set, and Write refuses the
// file.
func StopAtPixels() Option { return func(c *config) { c.stopAtPixels = true } }

// KeepUN leaves elements of VR UN as they are. By default one of a known tag gets the dictionary's
// value representation, and one that holds items becomes a sequence (PS3.5 section 6.2.2).
func KeepUN() Option { return func(c *config) { c.keepUN = true } }

// MaxDepth bounds how deep sequences may nest: one in the outermost data set counts 1.
func MaxDepth(n int) Option { return func(c *config) { c.maxDepth = n } }

// MaxMemory bounds, in bytes, what all elements and held values of one file may take together.
func MaxMemory(n int64) Option { return func(c *config) { c.maxMemory = n } }

// MaxInflated bounds, in bytes, what a deflated data set may inflate to.
func MaxInflated(n int64) Option { return func(c *config) { c.maxInflated = n } }
