package weaviate

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/crash"
)

// tenantList is the tenants of a class that the settings allow, by name. A class without tenants has one, "".
type tenantList struct {
	active   []string
	inactive map[string]string // name → status
	others   int               // tenants that the settings leave out
}

// tenants asks for the tenants of a class each time: they come, go, and fall asleep while we look at others.
func (s *store) tenants(ctx context.Context, c *class) (tenantList, error) {
	if !c.tenants {
		return tenantList{active: []string{""}}, nil
	}
	known, err := s.schema.TenantsGetter().WithClassName(c.name).Do(ctx)
	if err != nil {
		return tenantList{}, unwrapFault(err)
	}
	list := tenantList{inactive: map[string]string{}}
	found := map[string]bool{}
	for _, tenant := range known {
		found[tenant.Name] = true
		if len(s.set.Tenants) > 0 && !slices.Contains(s.set.Tenants, tenant.Name) {
			list.others++
			continue
		}
		if isActive(tenant.ActivityStatus) {
			list.active = append(list.active, tenant.Name)
		} else {
			list.inactive[tenant.Name] = tenant.ActivityStatus
		}
	}
	slices.Sort(list.active)
	if c.name != s.ownClass() { // the settings speak of the store's own class
		return list, nil
	}
	for _, name := range s.set.Tenants {
		if !found[name] {
			return tenantList{}, problemf(adapters.KindNotFound, "class %q has no tenant %q: check backends.store.tenants", c.name, name)
		}
	}
	return list, nil
}

func (s *store) ownClass() string {
	if c := s.current(); c != nil {
		return c.name
	}
	return ""
}

// isActive reads the status of a tenant, which servers have told under two names. Where none is told, the server knows no other.
func isActive(status string) bool { return status == "" || status == "ACTIVE" || status == "HOT" }

// unread says which tenants were not read, and why.
func (l tenantList) unread(c *class) string {
	if len(l.inactive) == 0 {
		return ""
	}
	var names []string
	for name, status := range l.inactive {
		names = append(names, fmt.Sprintf("%q (%s)", name, strings.ToLower(status)))
	}
	slices.Sort(names)
	total := len(names)
	if total > longestList {
		names = append(names[:longestList], "…")
	}
	return fmt.Sprintf("%d tenants of class %q that are not active, and are not woken up to be read: %s; activate them, or name the others in backends.store.tenants",
		total, c.name, strings.Join(names, ", "))
}

// leftOut says what the settings leave out.
func (l tenantList) leftOut() string {
	if l.others == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d tenants, which backends.store.tenants does not name", l.others, l.others+len(l.active)+len(l.inactive))
}

// choose returns the tenants that the conditions on the tenant admit. To ask for one that is there and cannot be read is an error.
func (s *store) choose(c *class, list tenantList, conditions []adapters.Condition) ([]string, error) {
	admits := func(tenant string) bool {
		for _, cond := range conditions {
			if (!cond.Typed && slices.Contains(cond.AnyOf, tenant)) == cond.Not {
				return false
			}
		}
		return true
	}
	for _, cond := range conditions {
		if cond.Not {
			continue
		}
		for _, tenant := range cond.AnyOf {
			if status, ok := list.inactive[tenant]; ok && !cond.Typed && admits(tenant) {
				return nil, problemf(adapters.KindPermanent, "tenant %q of class %q is not active (%s), and is not woken up to be read: activate it, or ask for another",
					tenant, c.name, strings.ToLower(status))
			}
		}
	}
	var chosen []string
	for _, tenant := range list.active {
		if !c.tenants || admits(tenant) {
			chosen = append(chosen, tenant)
		}
	}
	return chosen, nil
}

// overTenants runs f for each tenant, a few at a time, and returns what it returned in their order.
func overTenants[T any](ctx context.Context, tenants []string, f func(ctx context.Context, tenant string) (T, error)) ([]T, error) {
	results := make([]T, len(tenants))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(allAtOnce)
	for i, tenant := range tenants {
		group.Go(crash.Guard(func() (err error) {
			results[i], err = f(ctx, tenant)
			return err
		}))
	}
	return results, group.Wait()
}

// tenantArgument is the argument of a query for one tenant.
func tenantArgument(tenant string) string {
	if tenant == "" {
		return ""
	}
	return quote(tenant)
}
