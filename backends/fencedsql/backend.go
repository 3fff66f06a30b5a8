package fencedsql

import "github.com/fencedgo/fenced"

var _ interface {
	fenced.Backend
	fenced.Waiter
	fenced.Watcher
	fenced.Lister
} = (*Store)(nil)
