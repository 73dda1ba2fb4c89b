/**
 * What elements are built with: the older form of the two that a compiler writes, since it is the shorter one by far
 * where a page is mostly elements.
 */

export { Fragment as makeFragment, h as makeElement } from 'preact';
