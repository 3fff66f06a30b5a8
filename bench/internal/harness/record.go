package harness

import "fmt"

// Key returns the key of record i, 16 bytes.
func Key(i int) string { return fmt.Sprintf("orders/%09d", i) }

// Short writes a number of records as people say it.
func Short(n int) string {
	switch {
	case n >= 1e6 && n%1e6 == 0:
		return fmt.Sprintf("%d M", n/1e6)
	case n >= 1e3 && n%1e3 == 0:
		return fmt.Sprintf("%d k", n/1e3)
	default:
		return fmt.Sprint(n)
	}
}

// Must returns v where there is no error, and panics where there is one: what is
// measured does not fail.
func Must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
