package runner

import "github.com/culprit-rag/culprit/matrix"

// cellRewrite names the rewriting of a case.
const cellRewrite = "rewrite"

// rewriting adds the call by which the generator rewrites the query of a case.
func (r *reckoning) rewriting(c *matrix.Case) {
	settings := r.e.Pipeline.Rewrite
	if settings == nil {
		return
	}
	template, mistakes := matrix.ParseRewriteTemplate(settings.Prompt)
	if len(mistakes) > 0 {
		return // reported where the experiment was read
	}
	in, most := r.counted(template.RenderRewrite(c)), int64(settings.MaxTokens)
	r.add(c.ID, cellRewrite, r.need(matrix.RoleGenerator, 1, margin(in, 1), most, 0), r.need(matrix.RoleGenerator, 1, in, max(most/expectedPart, 1), 0))
}

// queries is what production's queries may hold in tokens: all of them are one answer of the generator, but for the original.
func (r *reckoning) queries(c *matrix.Case) *int64 {
	typed := r.counted(c.Question())
	if settings := r.e.Pipeline.Rewrite; settings != nil && typed != nil {
		written := int64(settings.MaxTokens)
		if settings.KeepOriginal {
			written += *typed
		}
		return &written
	}
	return typed
}
