// Package pythontest runs servers that are Python programs, for tests: [Install] makes a Python that has the packages a program
// needs, once and in the user's cache folder, and [Start] runs the program until it is closed or the test process ends.
package pythontest
