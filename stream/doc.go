// Package stream names what local jobs read and make by streams: the templates of
// output names, the numbers in them, and what stands for the name of a stream in a
// command line (decision R29). It is pure.
//
// A template is a file name in which ${SN} is the number of the local job among those
// of its step (JEDI, output naming): each template has a counter, which every new local
// job takes the next number from, those that do another's work again included. A retry
// keeps its number. Who counts is the store; this package tells what to count.
package stream
