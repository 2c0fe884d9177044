package operations_test

import (
	"os"
	"testing"

	"jjm/internal/testkit/programs"
)

var bin programs.Programs

func TestMain(m *testing.M) { os.Exit(bin.Main(m)) }
