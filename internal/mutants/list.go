package main

import (
	"errors"
	"fmt"
	"path"
	"strings"
)

// mutation is one way to break the library, and the test that must notice.
type mutation struct {
	name   string
	file   string // to be mutated, relative to the root of the repository
	dir    string // of the package whose test must fail, likewise
	test   string // its name, with subtests behind slashes
	checks bool   // the invariants are checked after every mutation of the store
	hang   bool   // not to end in time is to fail, too

	hunks []hunk
}

// hunk replaces whole lines, or a part of one: old is to occur exactly once.
type hunk struct {
	old, new string
	part     bool
}

// parse reads a list of mutations. An entry is
//
//	mutant NAME
//	in FILE
//	test DIR TEST [invariants] [hang]
//
// and then lines as in a diff: "-" goes, "+" comes, " " stays and tells where.
// A line "@@" starts another place in the same file. Of a line that is long, "<"
// is a part that goes, and ">", next to it, what comes in its place. A blank line
// ends the entry; a line that starts with "#" is a comment.
func parse(list string) ([]mutation, error) {
	var all []mutation
	seen := map[string]bool{}
	for entry := range strings.SplitSeq(list, "\n\n") {
		m, err := parseEntry(entry)
		if err != nil {
			return nil, fmt.Errorf("mutant %q: %w", m.name, err)
		}
		if m.name == "" {
			continue // comments alone
		}
		if seen[m.name] {
			return nil, fmt.Errorf("mutant %q: listed twice", m.name)
		}
		seen[m.name] = true
		all = append(all, m)
	}
	return all, nil
}

func parseEntry(entry string) (m mutation, err error) {
	var lines int
	for line := range strings.SplitSeq(entry, "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		lines++
		if err := m.take(line); err != nil {
			return m, err
		}
	}
	if lines == 0 {
		return m, nil
	}
	if m.name == "" || m.file == "" || m.test == "" || len(m.hunks) == 0 {
		return m, errors.New("wants a mutant, an in, a test and a change")
	}
	for _, h := range m.hunks {
		if h.old == h.new {
			return m, errors.New("changes nothing")
		}
	}
	return m, nil
}

// take adds one line of an entry.
func (m *mutation) take(line string) error {
	switch line[0] {
	case ' ', '-', '+':
		if len(m.hunks) == 0 || m.hunks[len(m.hunks)-1].part {
			m.hunks = append(m.hunks, hunk{})
		}
		h := &m.hunks[len(m.hunks)-1]
		if line[0] != '+' {
			h.old += line[1:] + "\n"
		}
		if line[0] != '-' {
			h.new += line[1:] + "\n"
		}
		return nil
	case '<':
		m.hunks = append(m.hunks, hunk{old: line[1:], part: true})
		return nil
	case '>':
		if len(m.hunks) == 0 || !m.hunks[len(m.hunks)-1].part {
			return errors.New("a part comes for none")
		}
		m.hunks[len(m.hunks)-1].new = line[1:]
		return nil
	}
	switch words := strings.Fields(line); {
	case line == "@@":
		m.hunks = append(m.hunks, hunk{})
	case words[0] == "mutant" && len(words) == 2:
		m.name = words[1]
	case words[0] == "in" && len(words) == 2:
		m.file = path.Clean(words[1])
	case words[0] == "test" && len(words) >= 3:
		m.dir, m.test = path.Clean(words[1]), words[2]
		for _, flag := range words[3:] {
			switch flag {
			case "invariants":
				m.checks = true
			case "hang":
				m.hang = true
			default:
				return fmt.Errorf("unknown flag %q", flag)
			}
		}
	default:
		return fmt.Errorf("unknown line %q", line)
	}
	return nil
}

// apply returns src mutated. Each old text must occur exactly once, so that a
// list that no longer fits the code fails instead of testing nothing.
func (m *mutation) apply(src string) (string, error) {
	src = "\n" + src
	for _, h := range m.hunks {
		old, new := h.old, h.new
		if !h.part {
			old, new = "\n"+old, "\n"+new
		}
		at := strings.Index(src, old)
		if at < 0 {
			return "", fmt.Errorf("%s has no such text:\n%s", m.file, h.old)
		}
		if strings.Contains(src[at+1:], old) {
			return "", fmt.Errorf("%s has this text more than once:\n%s", m.file, h.old)
		}
		src = src[:at] + new + src[at+len(old):]
	}
	return src[1:], nil
}

// pattern is what -test.run takes for the name of one test.
func pattern(test string) string {
	parts := strings.Split(test, "/")
	for i, part := range parts {
		parts[i] = "^" + part + "$"
	}
	return strings.Join(parts, "/")
}
