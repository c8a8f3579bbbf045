package loader

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/culprit-rag/culprit/adapters/weaviate/weaviatetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(weaviatetest.Main{M: m}) }
