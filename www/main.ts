/** Where the page's script starts: joins the analysis with the view. */

import { start } from './app/main';
import { connect } from './worker/pool';

start(connect());
