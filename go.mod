module github.com/culprit-rag/culprit

go 1.26
