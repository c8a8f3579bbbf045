package plugin

import (
	"context"
	"slices"
	"time"

	"github.com/culprit-rag/culprit/adapters"
)

// Program is what a plugin says of itself.
type Program struct {
	Name     string
	Version  string
	Protocol int
	Roles    []adapters.Role
	Path     string // absolute
}

// About starts the plugin, asks what it is, and ends it. It opens nothing.
func About(ctx context.Context, cfg adapters.Config) (Program, error) {
	set, err := readSettings(cfg.Settings, "")
	if err != nil {
		return Program{}, fail("info", adapters.KindInvalid, err)
	}
	bounded, cancel := context.WithTimeout(ctx, time.Duration(set.StartTimeout))
	defer cancel()
	s, err := start(bounded, &set, cfg)
	if err != nil {
		return Program{}, cfg.Secrets.Redactor().Error(err)
	}
	defer s.end()
	p := Program{
		Name: printable(s.info.GetName()), Version: printable(s.info.GetVersion()), Protocol: int(s.info.GetProtocolVersion()), Path: s.proc.name,
	}
	for _, role := range s.info.GetRoles() {
		p.Roles = append(p.Roles, adapters.Role(printable(role.GetName())))
	}
	slices.Sort(p.Roles)
	return p, nil
}
