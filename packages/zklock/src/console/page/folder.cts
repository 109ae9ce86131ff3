/** The folder of the page's files: the same expression for the sources and for the built package, which is CommonJS. */
export = __dirname;
